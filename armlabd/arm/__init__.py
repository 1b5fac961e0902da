"""The arm as numbers: joints, limits, calibration, kinematics and paths. No I/O."""
