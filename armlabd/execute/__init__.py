"""execute: runs. A goal is seen, planned, checked, carried out step by step, or asked about."""
