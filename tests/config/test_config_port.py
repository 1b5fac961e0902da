"""[arm] port: what may stand there, and the sentence for what may not."""

from __future__ import annotations

import pytest

from armlabd.config.load import ConfigError, parse_config


@pytest.mark.parametrize(
    "port", ["auto", "/dev/ttyACM0", "/dev/serial/by-id/x", "usb:5A68", "usb-path:1-1.2:1.0"]
)
def test_a_port_is_auto_a_path_or_a_usb_identity(port: str) -> None:
    assert parse_config({"arm": {"port": port}}).arm.port == port


@pytest.mark.parametrize("port", ["", "ttyACM0", "usb:", "usb-path:", "usb", "serial:5A68", "COM3"])
def test_anything_else_is_refused_with_what_is_allowed(port: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"arm": {"port": port}})
    assert 'a path such as "/dev/ttyACM0", "usb:SERIAL" or "usb-path:1-1.2"' in str(caught.value)
