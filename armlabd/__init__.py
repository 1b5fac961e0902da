"""armlabd: a daemon that turns a small board and an SO-101 class arm into an appliance."""

__version__ = "0.1.0"
