"""Tasks on models with a head of their own: classifiers of texts, taggers of tokens, answers to questions."""
