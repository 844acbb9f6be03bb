"""Texts of every kind that pages must show."""

ENGLISH = (
    "The release is planned for Friday. Never deploy without a green build; the limit is 250 requests a second, and "
    "BILL-413 must be fixed first. She said: \u201cIt\u2019s fine \u2014 really\u2026\u201d and left. "
) * 12

CODE = (
    "def total(items: list[Item], *, tax: float = 0.19) -> Decimal:\n"
    "    if not items:\n"
    "        raise ValueError(f'no items in {cart!r} [0x9f3ae21c04bd]')\n"
    "    return sum((item.price * item.count for item in items), Decimal(0)) * (1 + tax)  # EUR\n"
) * 10

CJK = (
    "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3001\u6f22\u5b57\u3068\u30ab\u30ca\u3002"
    "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8\uc785\ub2c8\ub2e4. \u4e2d\u6587\uff1a\u6771\u4eac\u90fd\u306e\u4f1a\u793e "
    "a\u65e5b "
) * 20

EMOJI = (
    "fire \U0001f525 rocket \U0001f680 astronaut \U0001f469\u200d\U0001f680 "
    "\u2705 done \u274c failed \u26a0\ufe0f careful. " * 10
)

TABLE = (
    "\u250c\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u252c\u2500\u2500\u2500\u2500\u2500\u2500\u2510\n"
    "\u2502 service \u2502  p50 \u2502\n"
    "\u251c\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u253c\u2500\u2500\u2500\u2500\u2500\u2500\u2524\n"
    "\u2502 billing \u2502 12ms \u2502\n"
    "| id | value |\n|---:|:------|\n| 17 | 1,250 |\n"
) * 8

SCRIPTS = (
    "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u0420\u0443\u0441\u0441\u043a\u0438\u0439 "
    "caf\u00e9 gr\u00f6\u00dfe \u2211\u221a\u2264\u221e "
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u0939\u093f\u0928\u094d\u0926\u0940 \u4f60\u4eec "
) * 10

TEXTS = {"English": ENGLISH, "code": CODE, "CJK": CJK, "emoji": EMOJI, "tables": TABLE, "scripts": SCRIPTS}
