//! How many pages does the synthetic Web make, and serve? It must never be what a crawler waits for: at least 15,000
//! pages a second over keep-alive connections on two cores that the client shares.
//!
//! Three figures: pages made in one thread, without a socket; pages served to a bare client that reads and forgets; the
//! same by wrk, when it is installed. Each page is another one, so nothing can be remembered.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use simweb::{Ask, Endpoints, PageRef, Settings, SimWeb, Site, World};

const LASTS: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 32;
/// The site that is asked: plain, large and popular.
const SITE: u32 = 1;

/// Measures and prints.
pub(crate) fn run() -> anyhow::Result<()> {
    let settings = Settings { sites: 1_000, pages: 1_000_000, seed: 7, ..Settings::plain() };
    let running = SimWeb::start(settings, &Endpoints::default())?;
    let out = &mut io::stdout();
    let (pages, bytes) = made(&running.world);
    writeln!(
        out,
        "simweb made    {:>8.0} pages/s in one thread, {:.1} KB a page, {:.0} MB/s",
        pages,
        bytes / 1e3,
        pages * bytes / 1e6
    )?;
    let served = served(&running)?;
    writeln!(out, "simweb served  {served:>8.0} pages/s to a bare client on {CONNECTIONS} connections")?;
    match by_wrk(&running)? {
        Some(rate) => writeln!(out, "simweb by wrk  {rate:>8.0} pages/s (at least 15000 wanted)")?,
        None => writeln!(out, "simweb by wrk  not measured: wrk is not installed")?,
    }
    Ok(())
}

/// Pages a second, and bytes a page, without a socket.
fn made(world: &World) -> (f64, f64) {
    let site = world.site(SITE);
    let began = Instant::now();
    let (mut pages, mut bytes) = (0u32, 0);
    while began.elapsed() < LASTS {
        for _ in 0..100 {
            bytes += world.answer(&site, &Ask::new(&path(world, &site, pages % site.linked), 0)).body.len();
            pages += 1;
        }
    }
    (f64::from(pages) / began.elapsed().as_secs_f64(), bytes as f64 / f64::from(pages))
}

fn path(world: &World, site: &Site, page: u32) -> String {
    let url = world.url(PageRef { site: site.index, page });
    url.splitn(4, '/').nth(3).map_or_else(|| "/".to_owned(), |path| format!("/{path}"))
}

/// Pages a second to threads that read a reply, forget it and ask for the next page.
fn served(running: &SimWeb) -> anyhow::Result<f64> {
    let site = running.world.site(SITE);
    let address = SocketAddr::from((running.world.address(SITE), running.http.port()));
    let host = format!("{}:{}", running.world.name(SITE), running.http.port());
    let pages = AtomicU64::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|client| {
                scope.spawn({
                    let (site, host, pages, world) = (&site, &host, &pages, &running.world);
                    move || -> io::Result<()> {
                        let mut stream = BufReader::with_capacity(64 * 1024, TcpStream::connect(address)?);
                        let mut page = client as u32 * 1_000;
                        while began.elapsed() < LASTS {
                            page = (page + 1) % site.linked;
                            let request =
                                format!("GET {} HTTP/1.1\r\nHost: {host}\r\n\r\n", path(world, site, page));
                            stream.get_mut().write_all(request.as_bytes())?;
                            read_reply(&mut stream)?;
                            pages.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(())
                    }
                })
            })
            .collect();
        clients
            .into_iter()
            .try_for_each(|client| client.join().map_err(|_| io::Error::other("a client panicked"))?)
    })?;
    Ok(pages.into_inner() as f64 / began.elapsed().as_secs_f64())
}

fn read_reply(stream: &mut BufReader<TcpStream>) -> io::Result<()> {
    let (mut length, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim_end().parse().map_err(io::Error::other)?;
        }
    }
    io::copy(&mut stream.take(length), &mut io::sink())?;
    Ok(())
}

/// wrk asks for a page chosen anew each time.
fn by_wrk(running: &SimWeb) -> anyhow::Result<Option<f64>> {
    let script = std::env::temp_dir().join(format!("simweb-wrk-{}.lua", std::process::id()));
    let site = running.world.site(SITE);
    let paths: Vec<String> =
        (0..2_000.min(site.linked)).map(|page| format!("{:?}", path(&running.world, &site, page))).collect();
    let host = format!("{}:{}", running.world.name(SITE), running.http.port());
    std::fs::write(
        &script,
        format!(
            "local paths = {{{}}}\nlocal n = 0\nrequest = function()\n  n = n % #paths + 1\n  return wrk.format(\"GET\", paths[n], {{Host = {host:?}}})\nend\n",
            paths.join(",")
        ),
    )?;
    let url = format!("http://{}:{}/", running.world.address(SITE), running.http.port());
    let duration = format!("-d{}s", LASTS.as_secs());
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{CONNECTIONS}"), &duration, "-s"])
        .arg(&script)
        .arg(&url)
        .output();
    std::fs::remove_file(&script)?;
    let text = match output {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    anyhow::ensure!(!text.contains("Non-2xx"), "wrk met errors: {text}");
    let rate = text
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"))
        .and_then(|rate| rate.trim().parse().ok());
    Ok(rate)
}
