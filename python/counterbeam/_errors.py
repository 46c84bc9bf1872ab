"""The errors that Counterbeam raises. Every message says what is wrong, where, and what to do."""


class Error(Exception):
    """The base of all errors of this package."""


class BadInput(Error, ValueError):
    """Something the caller can mend: a file, a name, a value."""


class Failed(Error, RuntimeError):
    """The machine could not do it: memory, disk, a device, a server."""


class Cancelled(Error):
    """Somebody asked to stop."""
