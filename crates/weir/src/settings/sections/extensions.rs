//! What does the end of a file's name say about it?

use model::{ExtensionLists, Group, UrlClass};

use crate::settings::section::section;

section! {
    /// What the end of a file's name says about it: pages are fetched, all others are counted by group and not fetched.
    "extensions", ExtensionsSection {
        /// Pages that lie ready; so do all with an extension that is in none of the lists, or with none.
        static_pages: Vec<String> = default_list(UrlClass::Static), wire "seeder/ext/download/static";
        /// Pages that a program makes.
        dynamic_pages: Vec<String> = default_list(UrlClass::Dynamic), wire "seeder/ext/download/dynamic";
        /// Pictures.
        images: Vec<String> = default_list(UrlClass::Logged(Group::Image)), wire "seeder/ext/log/group";
        /// Sound.
        audio: Vec<String> = default_list(UrlClass::Logged(Group::Audio)), wire "seeder/ext/log/group";
        /// Moving pictures.
        video: Vec<String> = default_list(UrlClass::Logged(Group::Video)), wire "seeder/ext/log/group";
        /// Documents made for paper or an office program.
        documents: Vec<String> = default_list(UrlClass::Logged(Group::Document)), wire "seeder/ext/log/group";
        /// Packed files.
        archives: Vec<String> = default_list(UrlClass::Logged(Group::Archive)), wire "seeder/ext/log/group";
        /// Programs and packages to install.
        software: Vec<String> = default_list(UrlClass::Logged(Group::Software)), wire "seeder/ext/log/group";
        /// Typefaces.
        fonts: Vec<String> = default_list(UrlClass::Logged(Group::Font)), wire "seeder/ext/log/group";
        /// Tables, databases, maps and other food for programs.
        data: Vec<String> = default_list(UrlClass::Logged(Group::Data)), wire "seeder/ext/log/group";
        /// Style sheets and scripts.
        styles: Vec<String> = default_list(UrlClass::Logged(Group::Style)), wire "seeder/ext/log/group";
    }
}

fn default_list(class: UrlClass) -> Vec<String> {
    let lists = ExtensionLists::DEFAULT.iter().filter(|(of, _)| *of == class);
    lists.flat_map(|(_, list)| list.split_whitespace()).map(str::to_owned).collect()
}

impl ExtensionsSection {
    /// The lists in one.
    pub(crate) fn lists(&self) -> ExtensionLists {
        let groups = [
            (UrlClass::Static, &self.static_pages),
            (UrlClass::Dynamic, &self.dynamic_pages),
            (UrlClass::Logged(Group::Image), &self.images),
            (UrlClass::Logged(Group::Audio), &self.audio),
            (UrlClass::Logged(Group::Video), &self.video),
            (UrlClass::Logged(Group::Document), &self.documents),
            (UrlClass::Logged(Group::Archive), &self.archives),
            (UrlClass::Logged(Group::Software), &self.software),
            (UrlClass::Logged(Group::Font), &self.fonts),
            (UrlClass::Logged(Group::Data), &self.data),
            (UrlClass::Logged(Group::Style), &self.styles),
        ];
        let words = groups.iter().flat_map(|(class, list)| list.iter().map(|word| (*class, word.as_str())));
        ExtensionLists::new(words.map(|(class, word)| (class, word.trim_start_matches('.'))))
    }
}
