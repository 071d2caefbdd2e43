//! Tests of the manager alone (`manager`), and of clients on brokers that authenticate them (`clients`).

mod clients;
mod manager;
