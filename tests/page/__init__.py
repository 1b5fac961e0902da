"""Browser tests. A package, so that browser and arm are started once for it and end with it."""
