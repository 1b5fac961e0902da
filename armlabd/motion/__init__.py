"""motion: the core process that owns the arm, and the asyncio client the daemon talks to it by."""
