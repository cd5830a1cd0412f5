"""What a certificate is computed from: one idea in each module, put together by certify.py."""
