"""Changes from outside, decided once and carried out in a program or under a free lock."""
