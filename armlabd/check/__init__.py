"""check: every rule on a whole plan, simulated, before anything moves."""
