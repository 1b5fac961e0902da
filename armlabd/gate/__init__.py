"""gate: who asks, how often, is it well-formed, allowed, not stopped. The only way to the arm."""
