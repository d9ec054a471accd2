//! What a family of fabrics says of its keys: the side of the configuration on which no family is known by name.

use super::{Common, ConfigError, FabricConfig, Group, KeyInfo};
use crate::family::figures::{FigureInfo, Figures};
use crate::family::hardware::Hardware;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The keys of a fabric's family.
#[derive(Debug)]
pub struct FamilyKeys(Box<dyn Family>);

impl Clone for FamilyKeys {
    fn clone(&self) -> FamilyKeys {
        FamilyKeys(self.0.boxed())
    }
}

impl PartialEq for FamilyKeys {
    fn eq(&self, other: &FamilyKeys) -> bool {
        self.0.is(&*other.0)
    }
}

impl FamilyKeys {
    /// The published keys of a family.
    pub fn of<T: Family + Default>() -> FamilyKeys {
        FamilyKeys(Box::new(T::default()))
    }

    /// The family.
    pub fn family(&self) -> &dyn Family {
        &*self.0
    }

    /// The family, to change its keys.
    pub fn family_mut(&mut self) -> &mut dyn Family {
        &mut *self.0
    }

    /// The keys of the family that asks; `None` of another one.
    pub fn keys<T: Family>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The published keys of the same family.
    pub fn published(&self) -> FamilyKeys {
        FamilyKeys(self.0.published())
    }
}

/// What the keys of every family can do because they are plain data; nobody writes it.
pub trait Data: Any + fmt::Debug + Send + Sync {
    /// The same keys once more.
    fn boxed(&self) -> Box<dyn Family>;

    /// The published keys of the family.
    fn published(&self) -> Box<dyn Family>;

    /// Keys of the same family, with the same values.
    fn is(&self, other: &dyn Family) -> bool;
}

impl<T: Family + Clone + Default + PartialEq> Data for T {
    fn boxed(&self) -> Box<dyn Family> {
        Box::new(self.clone())
    }

    fn published(&self) -> Box<dyn Family> {
        Box::new(T::default())
    }

    fn is(&self, other: &dyn Family) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

/// What a family's keys say beside their values.
pub trait Family: Group + Data {
    /// Its name, as in `family = "..."` of a fabric's file.
    fn name(&self) -> &'static str;

    /// The common keys of its published system.
    fn common(&self) -> Common {
        Common::default()
    }

    /// Changes what a list of keys says of a common key: its legal values, its sentence.
    fn adapt(&self, key: &mut KeyInfo) {
        let _ = key;
    }

    /// Refuses every combination of keys that cannot be built; `config` is the configuration that these keys belong to.
    ///
    /// # Errors
    /// The first key that does not fit the others, with its place and its legal range.
    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError>;

    /// The hardware that a configuration with these keys stands for.
    fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware>;

    /// The figures of every run, in order.
    fn figures(&self) -> Vec<FigureInfo>;

    /// What a person wants to know of a run first: title and text of each row.
    fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)>;
}
