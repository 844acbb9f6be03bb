"""How many tokens texts and pictures take, by estimate."""
