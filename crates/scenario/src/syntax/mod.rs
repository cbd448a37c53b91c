//! How a file is read, whatever its tables are: the tree of its values, and how tables are
//! declared.

pub mod declaration;
pub mod document;
