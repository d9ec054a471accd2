//! rtl-derive
