"""execute: runs. A goal is perceived, planned, checked, carried out step by step, or asked about."""
