"""Settings: `config.toml` read, checked and explained."""

from armlabd.config.load import ConfigError, load_config
from armlabd.config.model import Config

__all__ = ["Config", "ConfigError", "load_config"]
