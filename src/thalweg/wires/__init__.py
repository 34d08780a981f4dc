"""The border: message dialects of providers and logs, in and out."""
