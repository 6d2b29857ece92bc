"""Operations on any frame or SQL text: quoting, comparing, rounding, counting, JSON."""
