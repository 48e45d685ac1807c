//! Browser for tests: headless Chromium, controlled over the pipe of the DevTools protocol.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Timeout of [`Browser::until`].
const TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between two checks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum lifetime of the browser process in seconds.
const MAX_LIFETIME_S: &str = "300";

/// Browser with one page, closed on drop.
pub(crate) struct Browser {
    child: Child,
    input: RefCell<ChildStdin>,
    output: RefCell<BufReader<ChildStdout>>,
    session: String,
    number: Cell<u64>,
    /// Errors and foreign requests of the pages.
    errors: RefCell<Vec<String>>,
    /// Directory of the profile.
    _dir: TempDir,
}

/// Path of Chromium; `None` if it is not installed.
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file())
}

impl Browser {
    /// Starts the browser; `None`, with a message, if it is not installed.
    pub(crate) fn start() -> Option<Browser> {
        let Some(program) = chromium() else {
            testkit::skip("chromium is missing (Debian: chromium)");
            return None;
        };
        let temp = tempfile::tempdir().unwrap();
        // Chromium reads commands from file descriptor 3 and writes responses to 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec timeout \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", MAX_LIFETIME_S])
            .arg(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"])
            .args([
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .arg(format!("--user-data-dir={}", temp.path().display()))
            .args(["--remote-debugging-pipe", "about:blank"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = RefCell::new(child.stdin.take().unwrap());
        let output = RefCell::new(BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Browser {
            child,
            input,
            output,
            session: String::new(),
            number: Cell::new(0),
            errors: RefCell::new(Vec::new()),
            _dir: temp,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.size(1280, 900);
        Some(browser)
    }

    /// Sends a command and waits for its result.
    fn call(&self, method: &str, parameters: Value) -> Value {
        let message = self.exchange(method, parameters);
        assert!(message["error"].is_null(), "{method}: {}", message["error"]);
        message["result"].clone()
    }

    /// Sends a command; returns the response.
    fn exchange(&self, method: &str, parameters: Value) -> Value {
        let number = self.number.get() + 1;
        self.number.set(number);
        let mut command = json!({ "id": number, "method": method });
        command["params"] = parameters;
        if !self.session.is_empty() {
            command["sessionId"] = self.session.clone().into();
        }
        {
            let mut input = self.input.borrow_mut();
            input.write_all(format!("{command}\0").as_bytes()).unwrap();
            input.flush().unwrap();
        }
        loop {
            let message = self.read();
            if message["id"] == number {
                return message;
            }
            self.record(&message);
        }
    }

    fn read(&self) -> Value {
        let mut bytes = Vec::new();
        self.output.borrow_mut().read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has exited");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Records errors of a page and requests to other servers.
    fn record(&self, message: &Value) {
        let parameters = &message["params"];
        let error = match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                Some(parameters["args"].to_string())
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                Some(parameters["entry"].to_string())
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                let is_own = url.starts_with("http://127.0.0.1:") || url.starts_with("data:");
                (!is_own).then(|| format!("request to {url}"))
            }
            "Page.javascriptDialogOpening" => Some("a script of a page opened a dialog".to_owned()),
            _ => None,
        };
        self.errors.borrow_mut().extend(error);
    }

    /// Recorded errors so far.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.eval("0");
        self.errors.borrow().clone()
    }

    pub(crate) fn size(&self, width: u32, height: u32) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    pub(crate) fn dark(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": value });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Opens a URL and waits until it is loaded.
    pub(crate) fn open(&self, url: &str) {
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {answer}");
        self.until("document.readyState === 'complete'");
    }

    /// Evaluates an expression in the page.
    pub(crate) fn eval(&self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Text of the first element that matches a selector.
    pub(crate) fn text(&self, selector: &str) -> String {
        let selector = Value::from(selector);
        let text = self.eval(&format!("document.querySelector({selector})?.textContent ?? ''"));
        text.as_str().unwrap().trim().to_owned()
    }

    /// Waits until an expression is true, also across navigations.
    pub(crate) fn until(&self, expression: &str) {
        let began = Instant::now();
        loop {
            // A navigation may interrupt the evaluation; the next page is evaluated then.
            let parameters = json!({ "expression": format!("!!({expression})"), "returnByValue": true });
            let answer = self.try_call("Runtime.evaluate", parameters);
            if answer.is_some_and(|answer| answer["result"]["value"] == true) {
                return;
            }
            let is_late = began.elapsed() > TIMEOUT;
            assert!(
                !is_late,
                "in vain: {expression} at {}: {:?}",
                self.eval("location.href"),
                self.errors.borrow()
            );
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Like `call`, but ignores an interruption by a navigation.
    fn try_call(&self, method: &str, parameters: Value) -> Option<Value> {
        let message = self.exchange(method, parameters);
        message["error"].is_null().then(|| message["result"].clone())
    }

    /// Clicks the centre of an element.
    pub(crate) fn click(&self, selector: &str) {
        let selector = Value::from(selector);
        let centre = self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector}); e.scrollIntoView({{ block: 'center' }}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({ "type": kind, "x": centre[0], "y": centre[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Types text into the focused element and presses Enter.
    pub(crate) fn type_and_enter(&self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
        self.key("Enter", 13, "\r");
    }

    pub(crate) fn key(&self, name: &str, code: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Writes a screenshot if `WEIR_SCREENSHOTS` is a directory.
    pub(crate) fn screenshot(&self, name: &str) {
        let Some(dir) = std::env::var_os("WEIR_SCREENSHOTS").map(PathBuf::from) else { return };
        let screenshot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(format!("{name}.png")), base64(screenshot["data"].as_str().unwrap())).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // If the browser does not react to the close command, its maximum lifetime ends it.
        let close = json!({ "id": 0, "method": "Browser.close" });
        let _ = write!(self.input.borrow_mut(), "{close}\0");
        let _ = self.input.borrow_mut().flush();
        let _ = self.child.wait();
    }
}

/// Decodes Base64.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut held) = (0u32, 0);
    for letter in text.bytes().filter_map(|letter| LETTERS.iter().position(|own| *own == letter)) {
        bits = bits << 6 | letter as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}
