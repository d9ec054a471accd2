//! The macro that makes a rust-hdl block of a declaration.

/// Declares a rust-hdl block whose inside is a Weft block.
///
/// The fields are the module's ports by name, in any order; [`declaration`](crate::declaration) writes them for a module. A port whose name Rust
/// keeps for itself has an underscore behind it: `match_` is the port `match`. `clock` and `reset` (synchronous, active high) are added. The type may have `const` parameters for widths; whether they fit is checked when an instance is made.
///
/// It gets, besides rust-hdl's `Logic` and `Block`:
/// - `new(module: &Arc<Module>) -> Result<Self, BridgeError>`: compiles the module and makes an instance;
/// - `of(prepared: &Prepared) -> Result<Self, BridgeError>`: makes one more instance of what is compiled already;
/// - `core(&self) -> &BlockCore`: the simulation inside.
///
/// ```
/// use rust_hdl_core::prelude::*;
/// use weft_rust_hdl::weft_block;
///
/// weft_block! {
///     /// A queue of any width.
///     pub struct Queue<const W: usize> {
///         pub in_valid: Signal<In, Bit>,
///         pub in_data: Signal<In, Bits<W>>,
///         pub in_ready: Signal<Out, Bit>,
///         pub out_valid: Signal<Out, Bit>,
///         pub out_data: Signal<Out, Bits<W>>,
///         pub out_ready: Signal<In, Bit>,
///     }
/// }
/// ```
#[macro_export]
macro_rules! weft_block {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$(const $param:ident: usize),+ $(,)?>)? {
            $($(#[$port_meta:meta])* $port_vis:vis $port:ident: Signal<$dir:ident, $ty:ty>),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $vis struct $name $(<$(const $param: usize),+>)? {
            /// Clock: everything happens at its rising edge.
            pub clock: $crate::rust_hdl::signal::Signal<$crate::rust_hdl::direction::In, $crate::rust_hdl::clock::Clock>,
            /// Synchronous reset, active high.
            pub reset: $crate::rust_hdl::signal::Signal<$crate::rust_hdl::direction::In, $crate::rust_hdl::bits::Bit>,
            $(
                #[doc = concat!("Port `", stringify!($port), "`.")]
                $(#[$port_meta])*
                $port_vis $port: $crate::rust_hdl::signal::Signal<$crate::rust_hdl::direction::$dir, $ty>,
            )+
            core: $crate::BlockCore,
        }

        #[allow(dead_code)]
        impl $(<$(const $param: usize),+>)? $name $(<$($param),+>)? {
            /// Compiles a module and makes an instance.
            ///
            /// # Errors
            /// A module that cannot stand in a rust-hdl design, or has other ports.
            $vis fn new(
                module: &::std::sync::Arc<$crate::weft_rtl::ir::Module>,
            ) -> ::std::result::Result<Self, $crate::BridgeError> {
                Self::of(&$crate::Prepared::new(module)?)
            }

            /// Makes an instance of a module that is compiled already.
            ///
            /// # Errors
            /// A module that has other ports.
            $vis fn of(prepared: &$crate::Prepared) -> ::std::result::Result<Self, $crate::BridgeError> {
                let core = $crate::BlockCore::new(stringify!($name), prepared, &[$(
                    $crate::PinShape::of::<
                        $crate::rust_hdl::signal::Signal<$crate::rust_hdl::direction::$dir, $ty>,
                    >(stringify!($port)),
                )+])?;
                let mut block = Self {
                    clock: Default::default(),
                    reset: Default::default(),
                    $($port: Default::default(),)+
                    core,
                };
                block.core.show(&mut [$(&mut block.$port),+]);
                Ok(block)
            }

            /// The simulation inside.
            $vis fn core(&self) -> &$crate::BlockCore {
                &self.core
            }
        }

        impl $(<$(const $param: usize),+>)? $crate::rust_hdl::logic::Logic for $name $(<$($param),+>)? {
            fn update(&mut self) {
                if self.clock.pos_edge() {
                    self.core.clock(self.reset.val(), &mut [$(&mut self.$port),+]);
                }
            }

            fn connect(&mut self) {
                $($crate::Pin::claim(&mut self.$port);)+
            }

            fn hdl(&self) -> $crate::rust_hdl::ast::Verilog {
                self.core.hdl()
            }

            fn timing(&self) -> ::std::vec::Vec<$crate::rust_hdl::timing::TimingInfo> {
                self.core.timing()
            }
        }

        impl $(<$(const $param: usize),+>)? $crate::rust_hdl::block::Block for $name $(<$($param),+>)? {
            fn connect_all(&mut self) {
                $crate::rust_hdl::logic::Logic::connect(self);
            }

            fn update_all(&mut self) {
                use $crate::rust_hdl::block::Block;
                $crate::rust_hdl::logic::Logic::update(self);
                self.clock.update_all();
                self.reset.update_all();
                $(self.$port.update_all();)+
            }

            fn has_changed(&self) -> bool {
                use $crate::rust_hdl::block::Block;
                self.clock.has_changed() || self.reset.has_changed() $(|| self.$port.has_changed())+
            }

            fn accept(&self, name: &str, probe: &mut dyn $crate::rust_hdl::probe::Probe) {
                use $crate::rust_hdl::block::Block;
                probe.visit_start_scope(name, self);
                self.clock.accept("clock", probe);
                self.reset.accept("reset", probe);
                $(self.$port.accept(stringify!($port), probe);)+
                probe.visit_end_scope(name, self);
            }
        }
    };
}
