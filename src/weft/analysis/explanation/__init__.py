"""Why a value varies, in words."""
