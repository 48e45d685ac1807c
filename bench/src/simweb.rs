//! Synthetic Web: pages generated and served per second. It must never be the bottleneck of a crawl: at least 15,000
//! pages per second over keep-alive connections on two cores that it shares with the client.
//!
//! Three figures: pages generated in one thread without a socket; pages served to a minimal client; the same with
//! wrk, if it is installed. Each page is requested once, so that caching has no effect.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use simweb::{Endpoints, PageRef, Settings, SimRequest, SimWeb, Site, World};

const LASTS: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 32;
/// The requested site: plain, large and popular.
const SITE: u32 = 1;

/// Runs the benchmark and prints its figures.
pub(crate) fn run() -> anyhow::Result<()> {
    let settings = Settings { sites: 1_000, pages: 1_000_000, seed: 7, ..Settings::plain() };
    let running = SimWeb::start(settings, &Endpoints::default())?;
    let out = &mut io::stdout();
    let (pages, bytes) = made(&running.world);
    writeln!(
        out,
        "simweb generated {:>8.0} pages/s in one thread, {:.1} KB per page, {:.0} MB/s",
        pages,
        bytes / 1e3,
        pages * bytes / 1e6
    )?;
    let served = served(&running)?;
    writeln!(out, "simweb served    {served:>8.0} pages/s to a minimal client on {CONNECTIONS} connections")?;
    match by_wrk(&running)? {
        Some(rate) => writeln!(out, "simweb by wrk    {rate:>8.0} pages/s (goal 15000)")?,
        None => writeln!(out, "simweb by wrk    skipped: wrk is not installed")?,
    }
    Ok(())
}

/// Pages per second and bytes per page, without a socket.
fn made(world: &World) -> (f64, f64) {
    let site = world.site(SITE);
    let began = Instant::now();
    let (mut pages, mut bytes) = (0u32, 0);
    while began.elapsed() < LASTS {
        for _ in 0..100 {
            bytes += world
                .respond(&site, &SimRequest::new(&path(world, &site, pages % site.linked), 0))
                .body
                .len();
            pages += 1;
        }
    }
    (f64::from(pages) / began.elapsed().as_secs_f64(), bytes as f64 / f64::from(pages))
}

fn path(world: &World, site: &Site, page: u32) -> String {
    let url = world.url(PageRef { site: site.index, page });
    url.splitn(4, '/').nth(3).map_or_else(|| "/".to_owned(), |path| format!("/{path}"))
}

/// Pages per second, served to threads that read and discard responses.
fn served(running: &SimWeb) -> anyhow::Result<f64> {
    let site = running.world.site(SITE);
    let address = SocketAddr::from((running.world.ip_address(SITE), running.http.port()));
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

/// Measures with wrk, which requests a random page each time.
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
    let url = format!("http://{}:{}/", running.world.ip_address(SITE), running.http.port());
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
