"""The HTTP door: guards in their order, one table of routes, one of statuses."""
