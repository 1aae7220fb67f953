//! The program as its users meet it: arguments and files in; exit code, standard output, messages and result files
//! out. One binary, because each further one would link llama.cpp again.
//!
//! Everything runs on a tiny model that the program itself writes, with one thread. What needs data that lies
//! outside this repository says `skipped: …` and passes where that is absent.

mod harness;

mod accuracy;
mod bad_data;
mod bad_model;
mod bad_request;
mod bench;
mod compare;
mod conditions;
mod device_scripts;
mod disk_full;
mod docs;
mod doctor;
mod engine;
mod exit_codes;
mod grammar;
mod inspect;
mod killed;
mod options;
mod overflow;
mod prompts;
mod rendering;
mod replies;
mod results;
mod resumed;
mod speculation;
mod zerocut;
