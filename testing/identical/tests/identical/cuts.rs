//! However the bytes are cut and whenever they come, the same bytes are sent, and the same comes of it.

use crate::talks::{agree, nfs, smb};
use pagewire::smb::Smb;
use pagewire_hostile::{RECORDED, Recorded, Scene, Setup, Side, Tape};
use pagewire_hostile_nfs::{v3, v4};
use pagewire_identical::Talk;

#[test]
fn smb_plain_signed_and_sealed_sends_the_same_bytes_however_they_come() {
    for setup in Setup::every() {
        let (came, heard) = agree(&smb(Scene::new(setup)), &format!("{setup:?}"));
        assert_eq!((came.streams[0].len(), came.entries.len(), heard.len()), (20_003, 61, 1));
    }
}

#[test]
fn nfs_3_sends_the_same_bytes_over_all_of_its_connections() {
    let (came, heard) = agree(&nfs(v3::Scene::new), "NFSv3");
    assert_eq!((came.streams[0].len(), came.entries.len()), (20_003, 60));
    assert_eq!(heard.len(), 3, "the port mapper, MOUNT and NFS");
}

#[test]
fn nfs_4_sends_the_same_bytes_at_each_minor_version() {
    let scenes: [fn() -> v4::Scene; 3] =
        [|| v4::Scene::new().minor(0), || v4::Scene::new().minor(1), || v4::Scene::new().minor(2)];
    for (minor, scene) in scenes.into_iter().enumerate() {
        let (came, heard) = agree(&nfs(scene), &format!("NFSv4.{minor}"));
        assert_eq!((came.streams[0].len(), came.entries.len(), heard.len()), (20_003, 60, 1));
    }
}

#[test]
fn a_recorded_job_is_done_again_with_the_very_bytes_of_the_record() {
    for recorded in RECORDED {
        let conversation = recorded.conversation();
        let said = conversation.all(Side::Client);
        let talk = Talk {
            storage: (4096, 4096, 16),
            protocol: Box::new(move || Smb::new(recorded.setup.config())),
            server: Box::new(move || Tape::new(&conversation)),
            program: Recorded::PROGRAM,
        };
        let (_, heard) = agree(&talk, recorded.name);
        assert!(heard == [said], "{}: not what was recorded", recorded.name);
    }
}
