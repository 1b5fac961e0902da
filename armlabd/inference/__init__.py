"""inference: models that run on the board. They produce text; nothing here reaches the arm."""
