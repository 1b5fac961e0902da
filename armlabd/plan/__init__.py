"""plan: from a sentence or skills to a plan. Plans are data; nothing here reaches the arm."""
