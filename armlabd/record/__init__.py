"""record: what was asked and decided, and what each run did. Appended or replaced, never torn."""
