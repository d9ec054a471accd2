//! Coherence directories and the invalidation and fence machinery around them (rec.md sections 4, 5, 7).
