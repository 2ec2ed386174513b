"""Documents: XML, JSON, NDJSON and trees files, read into trees and written from them."""
