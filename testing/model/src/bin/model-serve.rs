//! Serves the model on a loopback port, so that other clients can try it.
//!
//! `model-serve PORT [sign] [seal] [seal-share] [guest] [2.0.2|2.1|3.0|3.0.2|3.1.1]`

#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;

use pagewire_model::{Config, Dialect, Model, Sealing, Tree};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().and_then(|port| port.parse::<u16>().ok());
    let config = arguments.try_fold(Config { tree: files(), ..Config::default() }, apply);
    let (Some(port), Some(config)) = (port, config) else {
        eprintln!("usage: model-serve PORT [sign] [seal] [seal-share] [guest] [2.0.2|2.1|3.0|3.0.2|3.1.1]");
        return ExitCode::from(2);
    };
    match serve(port, &config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("model-serve: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One word of the command line; `None` if it means nothing.
fn apply(mut config: Config, word: String) -> Option<Config> {
    match word.as_str() {
        "sign" => config.signing_required = true,
        "seal" => config.sealing = Sealing::Session,
        "seal-share" => config.sealing = Sealing::Share,
        "guest" => (config.guest, config.anonymous) = (true, true),
        "2.0.2" => config.dialects = Dialect::V202.and_below(),
        "2.1" => config.dialects = Dialect::V210.and_below(),
        "3.0" => config.dialects = Dialect::V300.and_below(),
        "3.0.2" => config.dialects = Dialect::V302.and_below(),
        "3.1.1" => config.dialects = Dialect::V311.and_below(),
        _ => return None,
    }
    Some(config)
}

fn files() -> Tree {
    let many = (0..300).map(|i| format!("many/file-{i:03}.txt"));
    let tree = Tree::new()
        .file("hello.txt", "hello from the model\n")
        .file("empty.txt", "")
        .pattern("megabytes.bin", 5_000_000)
        .pattern("huge.bin", 5 << 30)
        .sparse("sparse.bin", 3 << 20, &[0..4096, 1 << 20..(1 << 20) + 70_000])
        .file("docs/deep/note.txt", "a note\n")
        .directory("nothing")
        .denied("secret.txt");
    many.fold(tree, |tree, path| tree.file(&path, path.as_str()))
}

fn serve(port: u16, config: &Config) -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    for stream in listener.incoming() {
        let (stream, model) = (stream?, Model::new(config.clone()));
        std::thread::spawn(move || {
            if let Err(error) = converse(stream, model) {
                eprintln!("model-serve: {error}");
            }
        });
    }
    Ok(())
}

fn converse(mut stream: TcpStream, mut model: Model) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 65536];
    while !model.is_closed() {
        let len = stream.read(&mut buffer)?;
        if len == 0 {
            break;
        }
        model.input(&buffer[..len]);
        stream.write_all(&model.output())?;
    }
    Ok(())
}
