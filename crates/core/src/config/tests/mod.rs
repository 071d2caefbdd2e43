mod rules;
mod settings;
mod table;
