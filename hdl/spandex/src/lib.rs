//! Spandex: devices with GPU coherence, DeNovo or MESI around one last-level cache (spandex.md).
