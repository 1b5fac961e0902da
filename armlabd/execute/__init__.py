"""execute: see ARCHITECTURE.md."""
