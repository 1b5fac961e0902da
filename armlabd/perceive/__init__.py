"""perceive: from a picture to a checked scene. Models and colours only claim; `claims` decides."""
