"""doors: how others reach the arm. Translate, call a room, translate the verdict."""
