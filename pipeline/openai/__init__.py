"""The OpenAI Batch format: a line of a file as a request, an answer as a body, rows as output and error files.

https://platform.openai.com/docs/api-reference/batch/request-input and /request-output, as of 2026-11.
"""
