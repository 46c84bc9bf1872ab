"""The compiled module, beside the files that ship with the package."""
