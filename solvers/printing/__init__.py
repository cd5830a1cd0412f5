"""What results print."""
