"""The border: message dialects of providers and logs, in and out.

Two rules: a message nobody touched is written as the very object it was read from (of a
provider's response, what a request may hold of it); a field goes back only to the dialect it
came from (an `extra` is `{wire: {field: value}}`), and so does reasoning, which every
provider rejects from another.
"""
