"""What EC2 sells of capacity blocks: what to ask for, what the offers are worth, which may be bought."""
