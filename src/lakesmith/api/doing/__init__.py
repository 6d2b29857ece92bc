"""The process that does what a person confirmed on the web page (``__main__``)."""
