"""What rules of law and standards ask of records, and what this site does about it, from its configuration and log.

`rules/` has the rules, one file each; `measures/` what the product does, with the evidence of this site. A new rule is
one file and one line in the table of `rules/`.
"""
